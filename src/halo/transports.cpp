// The registry of transports.
#include <algorithm>

#include "halo/packed_transport.hpp"
#include "halo/transport.hpp"

namespace isotherm {
namespace {

std::string anywhere(const Device&) { return {}; }

std::string why_no_mpi_device(const Device& device) {
  if (device.backend() == Backend::host) return "needs a GPU; host does the same here";
  return why_mpi_takes_no_device_memory();
}

template <class T>
constexpr TransportEntry<T> registry[] = {
    {"host", "non-blocking MPI over host memory; a GPU's faces are staged through pinned buffers", true, true,
     anywhere, packed_transports<T, wires_of<make_host_wire>>},
    {"mpi_device", "non-blocking MPI over GPU memory, with an MPI that supports it", true, true,
     why_no_mpi_device, packed_transports<T, wires_of<make_direct_wire, largest_piece>>},
    {"nccl", "grouped sends and receives of NCCL on the stream of the halos", true, true, why_no_nccl,
     packed_transports<T, open_nccl_wires>},
    {"peer", "a kernel stores into the neighbour's ghosts: GPUs of one host with peer access", true, false,
     why_no_peer_transport, peer_transports<T>},
    {"mock", "packs and unpacks, moves nothing: for measuring only", false, true, anywhere,
     packed_transports<T, wires_of<make_mock_wire>>},
};

}  // namespace

template <class T>
std::span<const TransportEntry<T>> transport_registry() {
  return registry<T>;
}

template std::span<const TransportEntry<float>> transport_registry();
template std::span<const TransportEntry<double>> transport_registry();

const TransportEntry<double>* find_transport(std::string_view name) {
  const auto found = std::ranges::find(registry<double>, name, &TransportEntry<double>::name);
  return found == std::end(registry<double>) ? nullptr : found;
}

}  // namespace isotherm
