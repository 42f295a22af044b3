// What a call of the library throws, by its code.
#pragma once

#include <bam/bam.hpp>

namespace bam::test {

/// The code of the first diagnostic of the error that a call throws; 0 if it throws none.
template <typename Call>
int code_of(Call const& call) {
    try {
        call();
    } catch (Error const& error) {
        return error.report().diagnostics().front().code;
    }
    return 0;
}

}  // namespace bam::test
