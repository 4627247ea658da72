#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include "core/trace.hpp"

namespace isotherm {
namespace {

// Strings that a tool is told once, and a colour that tells phases of an exchange from sweeps.
struct Domain {
  nvtxDomainHandle_t handle = nvtxDomainCreateA("isotherm");
  std::array<nvtxEventAttributes_t, doing_names.size()> ranges{};

  Domain() {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ranges[i].version = NVTX_VERSION;
      ranges[i].size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
      ranges[i].colorType = NVTX_COLOR_ARGB;
      ranges[i].color = color_of(static_cast<Doing>(i));
      ranges[i].messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      ranges[i].message.registered = nvtxDomainRegisterStringA(handle, doing_names[i]);
    }
  }

  static std::uint32_t color_of(Doing doing) {
    switch (doing) {
      case Doing::sweep:
      case Doing::interior:
      case Doing::shells:
      case Doing::graph:
        return 0xff4477aa;
      case Doing::walls:
      case Doing::copies:
      case Doing::pack:
      case Doing::wire:
      case Doing::unpack:
        return 0xffee6677;
      case Doing::reduce:
      case Doing::diagnostics:
        return 0xff228833;
      case Doing::output:
        break;
    }
    return 0xffccbb44;
  }
};

// A tool lives as long as the process, and so does what it was told.
const Domain& domain() {
  static const Domain domain;
  return domain;
}

}  // namespace

TraceRange::TraceRange(Doing doing) {
  const Domain& here = domain();
  nvtxDomainRangePushEx(here.handle, &here.ranges[static_cast<std::size_t>(doing)]);
}

TraceRange::~TraceRange() {
  nvtxDomainRangePop(domain().handle);
}

}  // namespace isotherm
