// The functions of this folder that registry.cpp takes and that are no rows. A row is one file of this
// folder, whose function completes it: what it launches, its policies, what it can do. The registry alone
// declares those.
#pragma once

#include <cstddef>

#include "kernels/bandwidth.hpp"
#include "kernels/face_copy.hpp"
#include "kernels/histogram.hpp"
#include "kernels/peer_copy.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"
#include "kernels/survey.hpp"

namespace isotherm::cuda {

template <class T>
const RestSweep<T>& thin_rest();
template <class T>
const FaceCopy<T>& face_copy_cuda();
template <class T>
const PeerCopy<T>& peer_copy_cuda();
template <class T>
const FieldSurvey<T>& field_survey_cuda();

std::unique_ptr<BandwidthProbe> make_copy_probe_cuda(Device& device, std::size_t bytes);
template <class T>
std::span<const BandwidthRow<T>> bandwidth_rows();

}  // namespace isotherm::cuda
