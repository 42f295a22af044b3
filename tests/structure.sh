#!/bin/bash
# What may include what, names that say nothing, sections that are cited, golden files without a case. docs/architecture.md says why.
#
#     structure.sh ROOT
set -euo pipefail
cd "$1"

# All that runtime may know of lang: plain data, texts, and the one call that compiles. No tree, no model, no term, no pass.
shared_headers=' plan.hpp column.hpp families.hpp interval.hpp source.hpp nearest.hpp utf8.hpp read_text.hpp compile.hpp stated_priors.hpp absent_labels.hpp sliced.hpp plain_label.hpp '
failed=0

refuse() {
    echo "$1: $2"
    failed=1
}

is_in() { [[ -e $1/$2 ]]; }

# Prints `file:line header` for every include of the files given.
includes() {
    (($# == 0)) || grep -HnE '^[[:space:]]*#[[:space:]]*include' "$@" | sed -E 's/^([^:]*:[0-9]+):[^<"]*[<"]([^>"]*)[>"].*/\1 \2/' || true
}

shopt -s nullglob
for header in lang/*.hpp; do
    if is_in runtime "${header#lang/}"; then refuse "$header" "runtime has one of that name"; fi
done
while read -r place header; do
    file=${place%%:*}
    case $header in
    boost/math/*) ;;
    boost/*) [[ $file == lang/grammar.cpp ]] || refuse "$place" "Boost.Spirit is for lang/grammar.cpp only" ;;
    esac
    case $file in
    lang/*)
        [[ $header != Eigen/* && $header != unsupported/Eigen/* ]] || refuse "$place" "lang knows no numbers: no Eigen"
        if is_in runtime "$header" && ! is_in lang "$header"; then refuse "$place" "lang does not see runtime"; fi
        if [[ $shared_headers == *" ${file#lang/} "* ]] && is_in lang "$header" && [[ $shared_headers != *" $header "* ]]; then
            refuse "$place" "runtime would see $header through ${file#lang/}"
        fi
        ;;
    runtime/main*)
        if is_in lang "$header"; then refuse "$place" "the program sees lang through include/bam only"; fi
        ;;
    runtime/*)
        if is_in lang "$header" && [[ $shared_headers != *" $header "* ]]; then
            refuse "$place" "of lang, runtime sees$shared_headers""and not $header"
        fi
        ;;
    include/*)
        [[ $header == bam/* || $header != *[./]* ]] || refuse "$place" "a public header includes the standard library and bam/ only"
        ;;
    esac
done < <(includes lang/*.?pp runtime/*.?pp include/bam/*.hpp)

while read -r place; do
    refuse "$place" "no get_, Manager, Impl, Util, Base, Helper"
done < <(grep -nHEo '(^|[ *&:])get_[a-z_]*\(|\b(class|struct|enum|using|namespace) +[A-Za-z_]*(Manager|Impl|Utils?|Base|Helper)\b' \
    lang/*.?pp runtime/*.?pp include/bam/*.hpp tests/*.?pp tests/*/*.?pp || true)

# doctest's CMake asks for the suite of a case by its name, in which a comma parts two names: it finds none, and what is slow becomes fast.
# In CMake a semicolon parts two of anything: such a case becomes two tests, neither of which finds it.
while read -r place; do
    refuse "$place" "no comma in the name of a posterior's case"
done < <(grep -nHoE 'TEST_CASE\("[^",]*,' tests/posterior*.cpp || true)
while read -r place; do
    refuse "$place" "no semicolon in the name of a case"
done < <(grep -nHoE 'TEST_CASE\("[^";]*;' tests/*.cpp tests/*/*.cpp || true)

# A comment cites math.md by the number and the title of a section, so that it is known when sections are numbered anew.
while IFS=: read -r file line cited; do
    section=${cited#*math.md, }
    grep -qF "## $section" docs/math.md || refuse "$file:$line" "docs/math.md has no section that begins with '$section'"
done < <(grep -nHoE 'math\.md,[^,):]*' lang/*.?pp runtime/*.?pp include/bam/*.hpp tests/*.?pp tests/*/*.?pp || true)

for file in tests/golden/*/*.{expected,fixed}; do
    [[ -e ${file%.*}.bam ]] || refuse "$file" "its case is gone"
done
exit $failed
