#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include "core/trace.hpp"

namespace isotherm {
namespace {

// Strings that are registered once, and colours that distinguish phases of an exchange from sweeps.
struct Domain {
  nvtxDomainHandle_t handle = nvtxDomainCreateA("isotherm");
  std::array<nvtxEventAttributes_t, words_of<Phase>.size()> ranges{};

  Domain() {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ranges[i].version = NVTX_VERSION;
      ranges[i].size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
      ranges[i].colorType = NVTX_COLOR_ARGB;
      ranges[i].color = color_of(static_cast<Phase>(i));
      ranges[i].messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      ranges[i].message.registered = nvtxDomainRegisterStringA(handle, words_of<Phase>[i].data());
    }
  }

  static std::uint32_t color_of(Phase phase) {  // by the order of Phase
    if (phase == Phase::graph || (phase >= Phase::interior && phase <= Phase::sweep)) return 0xff4477aa;
    if (phase >= Phase::boundaries && phase <= Phase::unpack) return 0xffee6677;
    return phase == Phase::reduction || phase == Phase::diagnostics ? 0xff228833 : 0xffccbb44;
  }
};

// Profilers use the registered strings until the process ends.
const Domain& domain() {
  static const Domain domain;
  return domain;
}

}  // namespace

TraceRange::TraceRange(Phase phase) {
  const Domain& here = domain();
  nvtxDomainRangePushEx(here.handle, &here.ranges[static_cast<std::size_t>(phase)]);
}

TraceRange::~TraceRange() { nvtxDomainRangePop(domain().handle); }

}  // namespace isotherm
