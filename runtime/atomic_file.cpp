#include "atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace bam {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
constexpr mode_t everyone = 0666;  // less the user's umask

std::string explain(FileError::Stage stage, std::filesystem::path const& path) {
    return fmt::format("cannot {} `{}`", stage == FileError::Stage::Create ? "create" : "write", path.string());
}

}  // namespace

FileError::FileError(Stage stage, std::filesystem::path const& path, std::error_code code)
    : std::system_error(code, explain(stage, path)), stage_(stage), path_(path) {}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), target_(path_) {
    std::error_code error;
    if (std::filesystem::is_symlink(target_, error)) {
        target_ = std::filesystem::canonical(path_, error);
        if (error) target_ = path_.parent_path() / std::filesystem::read_symlink(path_, error);  // what it points to is yet to be
        if (error) fail(FileError::Stage::Create, error.value());
    }
    struct stat found {};
    bool const is_there = ::stat(target_.c_str(), &found) == 0;
    if (is_there && S_ISDIR(found.st_mode)) fail(FileError::Stage::Create, EISDIR);
    if (is_there && !S_ISREG(found.st_mode)) {
        descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
        if (descriptor_ < 0) fail(FileError::Stage::Create, errno);
        return;
    }
    // A rename would replace a file that its owner has locked.
    if (is_there && ::access(target_.c_str(), W_OK) != 0) fail(FileError::Stage::Create, errno);
    open_beside();
}

void AtomicFile::open_beside() {
    static std::atomic<unsigned> count = 0;
    do {
        beside_ = target_.parent_path() / fmt::format(".bam-{}-{}.tmp", ::getpid(), ++count);
        descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, everyone);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ >= 0) return;
    beside_.clear();
    fail(FileError::Stage::Create, errno);
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!beside_.empty()) ::unlink(beside_.c_str());
}

void AtomicFile::fail(FileError::Stage stage, int code) { throw FileError(stage, path_, {code, std::generic_category()}); }

void AtomicFile::write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= buffer_bytes) flush();
}

void AtomicFile::flush() {
    std::string_view rest = buffer_;
    while (!rest.empty()) {
        ssize_t const written = ::write(descriptor_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(FileError::Stage::Write, errno);
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer_.clear();
}

void AtomicFile::commit() {
    flush();
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(FileError::Stage::Write, errno);
    if (beside_.empty()) return;
    if (::rename(beside_.c_str(), target_.c_str()) != 0) fail(FileError::Stage::Create, errno);
    beside_.clear();
}

void write_file(std::filesystem::path const& path, std::string_view text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

}  // namespace bam
