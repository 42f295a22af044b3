// Files that are there whole or not at all: written beside their place, then renamed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace bam {

/// A file could not be created or written; what() says which and why.
class FileError : public std::system_error {
  public:
    enum class Stage { Create, Write };

    FileError(Stage stage, std::filesystem::path const& path, std::error_code code);
    std::filesystem::path const& path() const { return path_; }
    /// EX_CANTCREAT (73) or EX_IOERR (74) of sysexits.
    int exit_code() const { return stage_ == Stage::Create ? 73 : 74; }

  private:
    Stage stage_;
    std::filesystem::path path_;
};

/// A file in the making. Its text goes to a hidden file in the same folder, which takes the place of `path` on commit and is removed
/// without it. A symbolic link is followed; a device or a pipe is written as it is. Every function may throw FileError.
class AtomicFile {
  public:
    explicit AtomicFile(std::filesystem::path path);
    AtomicFile(AtomicFile const&) = delete;
    AtomicFile& operator=(AtomicFile const&) = delete;
    ~AtomicFile();

    void write(std::string_view text);
    void commit();

  private:
    void open_beside();
    void flush();
    [[noreturn]] void fail(FileError::Stage stage, int code);

    std::filesystem::path path_;    ///< as the user named it
    std::filesystem::path target_;  ///< with links followed
    std::filesystem::path beside_;  ///< empty when `target_` itself is written
    int descriptor_ = -1;
    std::string buffer_;
};

/// Writes a whole file.
void write_file(std::filesystem::path const& path, std::string_view text);

}  // namespace bam
