# Targets of libFuzzer, under the preset `fuzz`: tests/fuzz_NAME.cpp defines LLVMFuzzerTestOneInput. Each is run for some seconds
# from what the repository has of models and tables; what crashes it is left in build/fuzz/tests.

set(BAM_FUZZ_SECONDS 60 CACHE STRING "How long a fuzz target runs as a test")

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
set(CMAKE_REQUIRED_LINK_OPTIONS -fsanitize=fuzzer)
check_cxx_source_compiles([[
#include <cstddef>
#include <cstdint>
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const*, std::size_t) { return 0; }
]] BAM_HAS_LIBFUZZER)
if(NOT BAM_HAS_LIBFUZZER)
  message(FATAL_ERROR "BAM_FUZZ needs clang with libFuzzer: apt-get install clang-14 libclang-rt-14-dev")
endif()

add_custom_target(fuzz)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE bam_library fmt::fmt)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz ${name})
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus)
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${BAM_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048 -max_len=4096
    -print_final_stats=1 -artifact_prefix=${name}_ ${name}_corpus
    ${CMAKE_CURRENT_SOURCE_DIR}/golden ${PROJECT_SOURCE_DIR}/models ${PROJECT_SOURCE_DIR}/examples)
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
endforeach()
