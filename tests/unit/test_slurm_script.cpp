// Job scripts for Slurm: what stands in the places of a template, and what is refused.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/shell_word.hpp"
#include "study/slurm_script.hpp"

namespace isotherm {
namespace {

const std::string needed = "@tasks@|@ranks@|@cases@|@command@";

SlurmScript script_of(const std::vector<int>& tasks, const std::vector<std::string>& cases, int at_once = 0) {
  SlurmScript script{.name = "n", .output = "o", .tasks = tasks, .at_once = at_once, .ranks = 2};
  script.cases = cases;
  script.command = "run";
  return script;
}

std::string problem(const std::string& text, const SlurmScript& script) {
  try {
    fill_slurm_template(text, "t", script);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::deck);
    return error.what();
  }
  return "";
}

TEST(SlurmScript, TasksInARowAreARange) {
  const auto filled = [](const std::vector<int>& tasks, const std::vector<std::string>& cases,
                         int at_once = 0) {
    return fill_slurm_template(needed, "t", script_of(tasks, cases, at_once));
  };
  EXPECT_EQ(filled({7}, {"a"}), "7|2|[7]=a|run");
  EXPECT_EQ(filled({1, 2}, {"a", "b"}), "1-2|2|[1]=a [2]=b|run");
  EXPECT_EQ(filled({1, 3, 4, 5, 1000}, {"a", "b", "c", "d", "e"}, 3),
            "1,3-5,1000%3|2|[1]=a [3]=b [4]=c [5]=d [1000]=e|run");
  EXPECT_EQ(filled({1}, {}), "1|2||run");
}

TEST(SlurmScript, OnlyWordsBetweenTwoAtSignsArePlaces) {
  const SlurmScript script = script_of({1}, {"a"});
  EXPECT_EQ(fill_slurm_template(needed + " a@b.c \"${x[@]}\" @@ B:USR1@120 @", "t", script),
            "1|2|[1]=a|run a@b.c \"${x[@]}\" @@ B:USR1@120 @");
  EXPECT_EQ(fill_slurm_template(needed + "@@name@", "t", script), "1|2|[1]=a|run@n");
}

TEST(SlurmScript, OptionsAreLines) {
  SlurmScript script = script_of({1}, {"a"});
  EXPECT_EQ(problem(needed, script), "") << "nothing to put there";
  script.options = {"--time=1", "-p @name@"};
  EXPECT_EQ(fill_slurm_template(needed + "\n@options@", "t", script),
            "1|2|[1]=a|run\n#SBATCH --time=1\n#SBATCH -p @name@")
      << "what was put in is not looked at again";
  EXPECT_EQ(
      problem(needed, script),
      "t: has no '@options@' (what stands there decides what a task runs); add it as in inputs/study.sbatch");
}

TEST(SlurmScript, WhatIsNoPlaceIsRefusedByItsLine) {
  EXPECT_EQ(problem(needed + "\n\n@comand@", script_of({1}, {"a"})),
            "t:3: unknown place-holder '@comand@'; did you mean '@command@'?");
}

TEST(SlurmScript, TheProgramsOwnTemplateIsSound) {
  const std::string text = fill_slurm_template(default_slurm_template(), "t", script_of({1}, {"a"}));
  EXPECT_TRUE(text.starts_with("#!/bin/bash\n"));
  EXPECT_NE(text.find("\nexec run\n"), text.npos);
}

TEST(SlurmScript, AWordOfTheShellIsItsText) {
  EXPECT_EQ(shell_word("runs/a.yaml"), "runs/a.yaml");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's\n\x1b[2J\\"), "$'it\\'s\\n\\x1b[2J\\\\'");
}

}  // namespace
}  // namespace isotherm
