#!/bin/bash
# Writes docs/errors.md: for every code, what it means, a file that has it, what bam prints, and the file with the advice taken.
#
#     errors.sh PROGRAM ROOT SCRATCH            succeeds if docs/errors.md is what it should be
#     errors.sh --update PROGRAM ROOT SCRATCH   writes it instead
#
# The section of a code is the golden case that begins with `# means: ...` and prints that code first. Its `# run:` line is run on copies
# without these comments and without `fail_` in their names. Every code that a source lists has a golden case or a unit test that names it.
set -euo pipefail
export LC_ALL=C.UTF-8 NO_COLOR=1

is_update=no
if [[ ${1:-} == --update ]]; then
    is_update=yes
    shift
fi
(($# == 3)) || { echo "usage: errors.sh [--update] PROGRAM ROOT SCRATCH"; exit 64; }
program=$(realpath "$1")
root=$(realpath "$2")
rm -rf "$3"
mkdir -p "$3/bin" "$3/empty"
scratch=$(realpath "$3")
ln -s "$program" "$scratch/bin/bam"
PATH=$scratch/bin:$PATH
golden=$root/tests/golden
document=$root/docs/errors.md

declare -A case_of=()  # code -> STAGE/NAME
declare -A shown=()    # STAGE -> its shop.bam has been shown
failed=0

complain() {
    echo "$1" >&2
    failed=1
}

# Model FILE: without the comments that are for the tests.
strip() {
    sed -E '1,/^[^#]|^$/{/^# (means|run): /d}' "$1"
}

# Fence WORDS, around standard input.
block() {
    printf '```%s\n' "$1"
    cat
    printf '```\n\n'
}

# Path of a model: checked as it stands, it decides what the documents' test does with it.
fence_of() {
    if ! bam check "$1" >"$scratch/ignored" 2>&1; then
        echo "bam fail"
    elif grep -q '^use ' "$1"; then
        echo "bam part"
    else
        echo "bam"
    fi
}

find_cases() {
    local path code
    for path in "$golden"/*/*.bam; do
        grep -q '^# means: ' "$path" || continue
        code=$(grep -oE -m1 'BAM0[0-9]{3}' "${path%.bam}.expected" || true)
        if [[ -z $code ]]; then
            complain "$path: says what a code means, and prints none"
        elif [[ -n ${case_of[$code]:-} ]]; then
            complain "$path: ${case_of[$code]} says what $code means already"
        else
            path=${path#"$golden/"}
            case_of[$code]=${path%.bam}
        fi
    done
}

copy_stages() {
    local path name
    cp -r "$golden" "$scratch/golden"
    grep -rlIZ '"\.\./fail_' "$scratch"/golden/*/*/ | xargs -0r sed -i 's,"\.\./fail_,"../,'  # files that use a case
    for path in "$scratch"/golden/*/*.{bam,csv,fixed}; do
        name=${path##*/}
        name=${name#fail_}
        if [[ $path == *.csv ]]; then
            [[ ${path##*/} == "$name" ]] || mv "$path" "${path%/*}/$name"
        else
            strip "$path" >"$scratch/stripped"
            rm "$path"
            mv "$scratch/stripped" "${path%/*}/$name"
        fi
    done
}

# A table, if it can be shown.
show_table() {
    if grep -qI . "$1" && iconv -f UTF-8 -t UTF-8 "$1" >"$scratch/ignored" 2>&1; then block csv <"$1"; fi
}

# The model that the sections of a stage have in common.
show_shop() {
    local folder=$scratch/golden/$1
    [[ -z ${shown[$1]:-} && -e $folder/shop.bam ]] || return 0
    shown[$1]=yes
    printf '%s\n\n' "The sections that name \`shop.bam\` are about this model."
    block bam <"$folder/shop.bam"
}

# The section of a case: CODE STAGE NAME.
show_section() {
    local code=$1 name=${3#fail_} path=$golden/$2/$3.bam folder=$scratch/golden/$2
    local run printed model=$name.bam table=$name.csv
    printf '### %s\n\n' "$code"
    sed -n 's/^# means: //p' "$path" && echo
    if cmp -s "$folder/$model" "$folder/shop.bam"; then
        model=shop.bam
    elif [[ -s $folder/$model ]]; then
        block "$(cd "$folder" && fence_of "$model")" <"$folder/$model"
    fi
    run=$(sed -n '1,/^[^#]/s/^# run: //p' "$path" | head -n 1)
    run=${run:-check %s}
    run=${run//fail_/}
    run=${run//%s/$model}
    if [[ -e $folder/$table && $run == *"$table"* ]]; then show_table "$folder/$table"; fi
    # shellcheck disable=SC2086  # words
    printed=$(cd "$folder" && bam $run 2>&1 </dev/null || true)
    [[ $printed == *"$code"* ]] || complain "$path: \`bam $run\` does not print $code"
    # shellcheck disable=SC2086
    if [[ ! -s $folder/$model && $printed == "$(cd "$scratch/empty" && bam $run 2>&1 </dev/null || true)" ]]; then
        printf '$ bam %s\n%s\n' "$run" "$printed" | block "console fail"
    else
        printf '$ bam %s\n%s\n' "$run" "$printed" | block text
    fi
    show_fixed "$folder" "$name" "$model"
}

# What the advice makes of the model, or of the table: FOLDER NAME MODEL.
show_fixed() {
    local folder=$1 name=$2
    if [[ -e $folder/$name.fixed ]] && ! cmp -s "$folder/$name.fixed" "$folder/$3"; then
        printf 'Repaired:\n\n'
        block "$(cd "$folder" && fence_of "$name.fixed")" <"$folder/$name.fixed"
    fi
    if [[ -e $folder/$name.fixed.csv ]]; then
        printf 'Repaired:\n\n'
        show_table "$folder/$name.fixed.csv"
    fi
}

# The codes that the sources list at their tops, a line each: CODE, what it is.
find_codes() {
    sed -nE 's,^//  *(BAM0[0-9]{3})  (.*),\1 \2,p' "$root"/lang/*.cpp "$root"/runtime/*.cpp | sort
}

# Whether a unit test names CODE.
is_in_unit_test() {
    local number=$((10#${1#BAM}))
    grep -qE "$1\b|codes?\b[^;]*\b$number\b|== $number\b|[{(]$number,|\", $number, [0-9]" "$root"/tests/lang/*.cpp "$root"/tests/runtime/*.cpp
}

# The codes without a section: each has a unit test.
show_rest() {
    local code text last=""
    printf '## Without an example\n\n| | |\n|---|---|\n'
    while read -r code text; do
        [[ -z ${case_of[$code]:-} && $code != "$last" ]] || continue
        last=$code
        printf '| %s | %s |\n' "$code" "$text"
        is_in_unit_test "$code" || complain "$code ($text): neither a golden case nor a unit test names it"
    done < <(find_codes)
}

write_document() {
    local code chapter last=""
    local -A titles=([00]="Text and syntax" [01]="Names, dims, shapes and statements" [02]="Full conditionals that are no Gaussian"
        [03]="Notes on a model" [04]="Tables" [05]="Command line and files")
    cat <<'END'
# Errors

Every message of bam has a code. An `error` ends the run, a `warning` and a `note` do not. A line `= write ...` says what to put in the
place that is marked. `bam check --format=json` gives the same for editors.

<!-- Written by tests/errors.sh from tests/golden; `cmake --build build/release --target update-errors` writes it again. -->

END
    for code in $(printf '%s\n' "${!case_of[@]}" | sort); do
        chapter=${code:3:2}
        if [[ $chapter != "$last" ]]; then
            printf '## %s\n\n' "${titles[$chapter]}"
            last=$chapter
        fi
        show_shop "${case_of[$code]%/*}"
        show_section "$code" "${case_of[$code]%/*}" "${case_of[$code]#*/}"
    done
    show_rest
}

find_cases
copy_stages
write_document >"$scratch/errors.md"
codes=$(find_codes)
while read -r code; do
    [[ $codes == *"$code "* ]] || complain "$code is printed, and no source lists it"
done < <(grep -ohE 'BAM0[0-9]{3}' "$golden"/*/*.expected | sort -u)
((failed == 0)) || exit 1
if [[ $is_update == yes ]]; then
    cmp -s "$scratch/errors.md" "$document" || { cp "$scratch/errors.md" "$document"; echo "wrote $document"; }
elif ! diff -u --label docs/errors.md --label "should be" "$document" "$scratch/errors.md"; then
    echo "docs/errors.md is not what tests/errors.sh makes: cmake --build build/release --target update-errors"
    exit 1
fi
rm -rf "$scratch"
