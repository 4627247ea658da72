// What `scaling:` makes of the case of so many ranks: arithmetic only, and the same on every machine.
#pragma once

#include "config/config.hpp"
#include "config/problems.hpp"
#include "config/study_config.hpp"
#include "core/box.hpp"

namespace isotherm {

// How many times as long each axis of a weak series' body is on so many ranks: as the process grid that the
// deck fixes; else as the ranks of a cube are cut with the least surface, so that the body grows as evenly as
// the count can be split, first along z, then y. An axis of one cell stays one cell: what is flat stays flat.
Int3 weak_growth(const Config& config, int ranks);

// Puts into the deck of a case, which is read as `config`, what follows from the ranks that it runs on: weak,
// the cells of all ranks, and the spacing that those of one have in place of lengths; of gpus, a GPU for
// every rank. `place`: of `scaling:`. False: nothing follows. Throws Error(deck) where the deck computes
// elsewhere, or on other grids.
bool scale_case(YamlNode& deck, const ScalingConfig& scaling, const Config& config, int ranks,
                const Place& place, Problems& problems);

}  // namespace isotherm
