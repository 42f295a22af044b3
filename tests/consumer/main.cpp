#include <bam/diagnostic.hpp>

int main() {
    bam::Diagnostic warning;
    warning.severity = bam::Severity::Warning;
    bam::Diagnostic error;
    error.severity = bam::Severity::Error;
    return !bam::has_error({warning}) && bam::has_error({warning, error}) ? 0 : 1;
}
