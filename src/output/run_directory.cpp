#include "output/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <system_error>

#include "config/deck.hpp"
#include "config/problems.hpp"
#include "core/text.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "deck.resolved.yaml";

[[noreturn]] void reject(const fs::path& path, const std::string& why, const std::string& what_to_do) {
  throw error_of(ExitCode::cannot_create, "cannot use {} as run directory ({}); {}", in_quotes(path.string()),
                 why, what_to_do);
}

constexpr const char* choose_another = "choose another with output.directory=...";

// The longest part of `path` that exists: the rest is to be created in it.
fs::path deepest_existing(fs::path path) {
  std::error_code ignored;
  while (path.has_relative_path() && !fs::exists(path, ignored)) {
    const fs::path parent = path.parent_path();
    if (parent == path) break;
    path = parent;
  }
  return path.empty() ? fs::path(".") : path;
}

// Syncs the names of new folders below `stood`: a file on the disk is lost if the name of its folder is lost.
void sync_new_folders(fs::path path, const fs::path& stood) {
  while (path != stood && path.has_relative_path()) {
    path = path.parent_path();
    if (access(path.empty() ? "." : path.c_str(), R_OK) == 0) sync_names(path.string());
  }
}

void make_folder(const fs::path& path) {
  if (path.empty()) reject(path, "its name is empty", "name one with output.directory=...");
  std::error_code error, ignored;
  const fs::path folder = path.has_filename() ? path : path.parent_path();  // without a slash at its end
  const fs::path stood = deepest_existing(folder);
  if (!fs::is_directory(stood, ignored))
    reject(path,
           fmt::format("{} is a file, not a folder", stood == folder ? "it" : in_quotes(stood.string())),
           choose_another);
  fs::create_directories(path, error);
  // For an existing folder with a slash at the end of its name, create_directories may return an error.
  if (error && !fs::is_directory(path, ignored))
    reject(path,
           fmt::format("a folder cannot be made in {}: {}", in_quotes(deepest_existing(path).string()),
                       error.message()),
           choose_another);
  sync_new_folders(folder, stood);
  if (access(path.c_str(), W_OK | X_OK) != 0)
    reject(path, fmt::format("it cannot be written to: {}", std::strerror(errno)), choose_another);
}

// "run.json, run.log and 12 more"
std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i ? ", " : "") + escaped(names[i]);
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// Files of `run_name`; to replace, also those of the run in the folder, which may have another name.
std::vector<std::string> files_of_earlier_run(const fs::path& folder, const std::string& run_name,
                                              bool replaces) {
  std::vector<std::string> files = find_run_files(folder, run_name);
  if (!replaces) return files;
  const std::string earlier = name_of_run(folder).value_or(run_name);
  for (std::string& file : find_run_files(folder, earlier))
    if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
  return files;
}

void check_earlier_run(const fs::path& folder, const Config& config, bool resumes,
                       const std::vector<std::string>& files) {
  if (files.empty()) return;
  if (std::ranges::find(files, mark) == files.end())
    reject(folder,
           fmt::format("it holds {}, which no run of isotherm put there: {} is missing next to it",
                       some_names(files), mark),
           "move these files away, or choose another with output.directory=...");
  if (resumes) return;  // nothing is removed
  if (!config.output.overwrite)
    reject(folder, fmt::format("it holds an earlier run: {}", some_names(files)),
           fmt::format("{}replace it with output.overwrite=true, or choose another with output.directory=...",
                       files_by_sweep(folder, config.name, checkpoint_suffix).empty()
                           ? ""
                           : "resume that run with --restart latest, "));
  for (const std::string& name : files) {
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(folder / name, ignored)))
      reject(folder, fmt::format("{} in it is a folder", in_quotes(name)),
             "move that folder away, or choose another with output.directory=...");
  }
}

// Removes the mark last: after an interrupted removal the folder is still recognised as isotherm's.
void remove_earlier_run(const fs::path& folder, std::vector<std::string> files) {
  std::ranges::stable_partition(files, [](const std::string& name) { return name != mark; });
  for (const std::string& name : files) {
    std::error_code error;
    fs::remove(folder / name, error);  // removes a link, never its target
    if (error)
      reject(folder,
             fmt::format("{} of the earlier run cannot be removed: {}", in_quotes(name), error.message()),
             choose_another);
  }
}

constexpr auto heartbeat = std::chrono::seconds(10);
constexpr double longest_silence = 120;  // s
constexpr int attempts = 5;

struct Owner {
  std::string host;
  pid_t process = 0;
  std::string started;  // ticks since the host's start: process numbers are reused
  std::string job;      // of Slurm; "-" without one
};

// Fields 3 and 22 of /proc/PID/stat, after a name that may contain any characters, up to the last ')'.
struct ProcessState {
  char state = '?';           // Z: a zombie, ended but not waited for
  std::string started = "?";  // ticks since the host's start
};

ProcessState state_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  ProcessState found;
  fields >> found.state;
  for (int n = 4; n <= 22; ++n) fields >> found.started;
  return fields ? found : ProcessState{};
}

Owner this_process() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  const char* job = std::getenv("SLURM_JOB_ID");
  return {host, getpid(), state_of(getpid()).started, job && *job ? job : "-"};
}

std::string text_of(const Owner& owner) {
  return fmt::format("{}\n{}\n{}\n{}\n", owner.host, owner.process, owner.started, owner.job);
}

Owner owner_of(const fs::path& path) {
  std::ifstream file(path);
  Owner owner;
  std::string process;
  for (std::string* line : {&owner.host, &process, &owner.started, &owner.job}) std::getline(file, *line);
  owner.process = static_cast<pid_t>(std::atoi(process.substr(0, 9).c_str()));
  return owner;
}

bool has_ended(const Owner& owner) {
  if (owner.process <= 0) return false;  // a lock that is being written, or another file: its age decides
  if (::kill(owner.process, 0) != 0 && errno == ESRCH) return true;
  const ProcessState found = state_of(owner.process);
  return found.state == 'Z' || found.state == 'X' || (found.started != "?" && found.started != owner.started);
}

// Why the lock is stale; empty if its run may be alive.
std::string why_stale(const Owner& owner, const struct stat& status) {
  const Owner self = this_process();
  if (owner.host == self.host && has_ended(owner))
    return fmt::format("process {} is gone from this host", owner.process);
  if (owner.job != "-" && owner.job == self.job && owner.host != self.host)
    return fmt::format("job {} was started again", owner.job);
  const double silence = std::difftime(std::time(nullptr), status.st_mtime);
  if (owner.host != self.host && silence > longest_silence)
    return fmt::format("no sign of life for {:.0f} s", silence);
  return {};
}

}  // namespace

std::string file_of_sweep(std::string_view run_name, std::int64_t sweep, std::string_view suffix) {
  return fmt::format("{}_{:08}{}", run_name, sweep, suffix);
}

std::optional<std::int64_t> sweep_of_file(std::string_view file_name, std::string_view run_name,
                                          std::string_view suffix) {
  const std::size_t rest = run_name.size() + suffix.size();
  if (!file_name.starts_with(run_name) || file_name.size() < rest || !file_name.ends_with(suffix))
    return std::nullopt;
  const std::string_view number = file_name.substr(run_name.size(), file_name.size() - rest);
  if (!number.starts_with('_') || number.starts_with("_-")) return std::nullopt;
  return read_number<std::int64_t>(number.substr(1));
}

bool is_run_file(std::string_view file_name, std::string_view run_name) {
  static const std::regex fixed(
      R"(((run\.json|run\.log|history\.csv|probes\.csv|deck\.yaml|deck\.resolved\.yaml|latest))"
      R"(|(history|probes)\.csv(\.\d+)?\.aside)(\.part)?)");
  static const std::regex behind_name(
      R"((_material\.h5|_\d{1,18}\.(checkpoint\.hdf(\.aside)?|diverged\.hdf))"
      R"(|(_region|_coarse|_slice_[\w-]+)?(_\d{1,18}\.hdf(\.aside)?|\.hdf\.series|\.xmf))(\.part)?)");
  if (std::regex_match(file_name.begin(), file_name.end(), fixed)) return true;
  return file_name.starts_with(run_name) &&
         std::regex_match(file_name.begin() + std::ssize(run_name), file_name.end(), behind_name);
}

std::vector<std::string> find_run_files(const std::filesystem::path& folder, std::string_view run_name) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (std::string name = entry->path().filename().string(); is_run_file(name, run_name))
      names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::multimap<std::int64_t, std::string> files_by_sweep(const std::filesystem::path& folder,
                                                        std::string_view run_name, std::string_view suffix) {
  std::multimap<std::int64_t, std::string> files;
  for (const std::string& name : find_run_files(folder, run_name))
    if (const auto sweep = sweep_of_file(name, run_name, suffix)) files.emplace(*sweep, name);
  return files;
}

void check_overwrite(const Config& config) {
  if (!config.output.overwrite) return;
  const fs::path folder = config.output.directory;
  for (const std::string& name : files_of_earlier_run(folder, config.name, true))
    for (const auto& [key, file] : config.data_files)
      if (std::error_code ignored; fs::equivalent(folder / name, file, ignored))
        throw deck_error(config, key,
                         "{} is in the run directory that output.overwrite would replace; choose another "
                         "output.directory",
                         in_quotes(file));
}

RunDirectory prepare_run_directory(const Config& config, const std::string& deck, bool resumes, Force force,
                                   std::shared_ptr<RunLock> lock) {
  const fs::path folder = config.output.directory;
  make_folder(folder);
  RunDirectory prepared{folder, lock ? std::move(lock) : std::make_shared<RunLock>(folder, force)};
  const bool replaces = config.output.overwrite && !resumes;
  const std::vector<std::string> earlier = files_of_earlier_run(folder, config.name, replaces);
  check_earlier_run(folder, config, resumes, earlier);
  if (replaces) check_overwrite(config);
  if (replaces) remove_earlier_run(folder, earlier);
  const std::string name =
      nlohmann::json(config.name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  write_file_atomically(folder / mark, fmt::format("{}{}\n{}", name_line, name, to_yaml(config)));
  write_file_atomically(folder / "deck.yaml", deck);
  return prepared;
}

RunLock::RunLock(const fs::path& folder, Force force)
    : path_(folder / "run.lock"), mine_(text_of(this_process())) {
  take(force);
  thread_ = std::jthread([this](const std::stop_token& stop) { keep_alive(stop); });
}

RunLock::~RunLock() {
  thread_.request_stop();
  thread_.join();
  if (text_of(owner_of(path_)) == mine_) ::unlink(path_.c_str());  // else another run has taken it
}

// If several runs find a stale lock, one renames the very file that it has checked; all try again.
void RunLock::take(Force force) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      const ssize_t written = ::write(fd, mine_.data(), mine_.size());
      ::close(fd);
      if (written == static_cast<ssize_t>(mine_.size())) return;
      ::unlink(path_.c_str());
    }
    if (fd >= 0 || errno != EEXIST)
      throw error_of(ExitCode::cannot_create, "cannot write {} ({}); check the folder and its free space",
                     in_quotes(path_.string()), std::strerror(errno));
    struct stat seen {};
    if (::stat(path_.c_str(), &seen) != 0) continue;  // it was just removed
    const Owner owner = owner_of(path_);
    const std::string stale = force == Force::yes ? std::string("--force") : why_stale(owner, seen);
    if (stale.empty())
      throw error_of(ExitCode::cannot_create,
                     "cannot use {} as run directory (process {} on {} writes to it); wait for its end, or "
                     "take the directory with --force where that run is gone",
                     in_quotes(path_.parent_path().string()), owner.process, escaped(owner.host));
    const std::string old = fmt::format("{}.{}.{}", path_.string(), this_process().host, getpid());
    if (::rename(path_.c_str(), old.c_str()) != 0) continue;
    struct stat taken {};
    if (::stat(old.c_str(), &taken) == 0 && taken.st_ino != seen.st_ino) {
      // Another run was faster, and this is its lock.
      if (::link(old.c_str(), path_.c_str()) == 0) ::unlink(old.c_str());
      continue;
    }
    ::unlink(old.c_str());
    warning_ = fmt::format("{} of process {} on {} was taken ({})", in_quotes(path_.string()), owner.process,
                           escaped(owner.host), stale);
  }
  throw error_of(ExitCode::cannot_create, "cannot get {} (other runs try to lock it too); try again",
                 in_quotes(path_.string()));
}

void RunLock::keep_alive(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    stopped.wait_for(lock, stop, heartbeat, [] { return false; });
    if (!stop.stop_requested()) ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
  }
}

}  // namespace isotherm
