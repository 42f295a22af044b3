#include "read_text.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "nearest.hpp"

namespace bam {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_text = std::size_t{1} << 32;  // spans hold 32-bit offsets

std::string reason(int code) {
    switch (code) {
        case ENOENT:
        case ENOTDIR: return "no such file";
        case EACCES:
        case EPERM: return "permission denied";
        case EISDIR: return "it is a folder";
        default: return std::generic_category().message(code);
    }
}

std::string find_near(fs::path const& path) {
    std::error_code error;
    std::vector<std::string> names;
    fs::path const folder = path.parent_path();
    for (auto at = fs::directory_iterator(folder.empty() ? "." : folder, error); !error && at != fs::directory_iterator();
         at.increment(error))
        if (!at->is_directory(error)) names.push_back(at->path().filename().string());
    auto const name = nearest(path.filename().string(), names);
    return name ? (folder / *name).string() : "";
}

}  // namespace

ReadText read_text(std::string const& name) {
    ReadText result;
    result.identity = name;
    bool const is_input = name == "-";
    if (!is_input) {
        std::error_code error;
        fs::path const canonical = fs::weakly_canonical(name, error);
        if (!error) result.identity = canonical.string();
    }
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened{nullptr, std::fclose};
    if (!is_input) opened.reset(std::fopen(name.c_str(), "rb"));
    std::FILE* const file = is_input ? stdin : opened.get();
    int code = 0;
    if (file == nullptr) {
        code = errno;
    } else {
        std::vector<char> buffer(std::size_t{1} << 16);
        while (std::size_t const size = std::fread(buffer.data(), 1, buffer.size(), file)) {
            result.text.append(buffer.data(), size);
            if (result.text.size() < longest_text) continue;
            result.text.clear();
            result.failure = "it is longer than 4 GiB";
            return result;
        }
        if (std::ferror(file) != 0) code = errno;
    }
    if (code == 0) return result;
    result.failure = reason(code);
    if (code == ENOENT) result.near = find_near(name);
    return result;
}

}  // namespace bam
