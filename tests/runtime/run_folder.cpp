// What becomes of files that cannot be made or written.
#include <doctest/doctest.h>

#include "atomic_file.hpp"
#include "fit.hpp"

using namespace bam;

namespace {

/// The code and the exit code of what becomes of an error while files are written.
std::pair<int, int> codes_of(FileError::Stage stage) {
    try {
        with_file_errors([&] { throw FileError(stage, "run/summary.csv", std::make_error_code(std::errc::no_space_on_device)); });
    } catch (Error const& error) {
        return {error.report().diagnostics().front().code, error.exit_code()};
    }
    return {0, 0};
}

}  // namespace

TEST_CASE("run folder: files that cannot be created and files that cannot be written end a run differently") {
    CHECK(codes_of(FileError::Stage::Create) == std::pair{535, 73});
    CHECK(codes_of(FileError::Stage::Write) == std::pair{536, 74});
}
