// Cases as tasks of Slurm's job arrays: how they are submitted, and which of them still are in its queue.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "study/study_deck.hpp"

namespace isotherm {

// Answers of Slurm's programs go through files in `folder`, which are gone again afterwards. All throw
// Error(unavailable) where a program is missing or refuses, with its words.

// The job's number. `options` stand before the script.
std::string submit_job(const std::filesystem::path& script, const std::vector<std::string>& options,
                       const std::filesystem::path& folder);
// Tasks of this user that wait or run: "123_4".
std::set<std::string> find_queued_tasks(const std::filesystem::path& folder);

// As which task a case was submitted last; empty where it never was.
std::string submitted_task(const DeckCase& each);
void record_submission(const DeckCase& each, const std::string& task);
// Where this process is that task: throws Error(deck) unless the case still is what was submitted.
void refuse_changed_since_submission(const DeckCase& each);

}  // namespace isotherm
