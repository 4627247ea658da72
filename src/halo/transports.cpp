// The table of transports.
#include "halo/packed_transport.hpp"
#include "halo/transport.hpp"

namespace isotherm {
namespace {

std::string anywhere(const Device&) {
  return {};
}

template <class T>
constexpr TransportRow<T> rows[] = {
    {"host", "non-blocking MPI over host memory; a GPU's faces are staged through pinned buffers", true, true,
     anywhere, packed_transports<T, make_host_wire>},
    {"mock", "packs and unpacks, moves nothing: for measuring only", false, true, anywhere,
     packed_transports<T, make_mock_wire>},
};

}  // namespace

template <class T>
std::span<const TransportRow<T>> transport_rows() {
  return rows<T>;
}

template <class T>
const TransportRow<T>* find_transport(std::string_view name) {
  for (const TransportRow<T>& row : rows<T>) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

template std::span<const TransportRow<float>> transport_rows();
template std::span<const TransportRow<double>> transport_rows();
template const TransportRow<float>* find_transport(std::string_view);
template const TransportRow<double>* find_transport(std::string_view);

}  // namespace isotherm
