#include "app/field_outputs.hpp"

#include "output/file_grid.hpp"
#include "output/part_cells.hpp"

namespace isotherm {

template <class T>
FieldOutputs<T>::FieldOutputs(const Config& config, const Communicator& communicator,
                              const std::string& folder, const SnapshotProvenance& provenance)
    : schedule_(config) {
  for (FieldPart& part : field_parts(config)) {
    SnapshotWriter writer(config, grid_of(config, part), communicator, folder, provenance);
    parts_.push_back({std::move(part), std::move(writer)});
  }
}

template <class T>
std::vector<std::string> FieldOutputs<T>::write_due(Solver<T>& solver) {
  std::vector<std::string> files;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (schedule_.part_due(i, solver.sweeps())) files.push_back(write(parts_[i], solver));
  return files;
}

template <class T>
std::vector<std::string> FieldOutputs<T>::write_last(Solver<T>& solver) {
  std::vector<std::string> files;
  for (Part& part : parts_)
    if (part.written != solver.sweeps()) files.push_back(write(part, solver));
  return files;
}

template <class T>
std::string FieldOutputs<T>::write(Part& part, Solver<T>& solver) {
  const PartCells<T> mine = cut(solver.host_field(), solver.block(), part.what.box);
  part.written = solver.sweeps();
  return part.writer.write(
      mine.cells, mine.in_file,
      {solver.time(), solver.sweeps(), part.writer.fingerprint(mine.cells, mine.in_file)});
}

template <class T>
std::vector<std::string> FieldOutputs<T>::remarks() const {
  std::vector<std::string> all;
  for (const Part& part : parts_)
    all.insert(all.end(), part.writer.remarks().begin(), part.writer.remarks().end());
  return all;
}

template class FieldOutputs<float>;
template class FieldOutputs<double>;

}  // namespace isotherm
