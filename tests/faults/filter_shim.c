/* Preloaded by test_outputs.py: an HDF5 that was built without zlib. */
int H5Zfilter_avail(int filter) {
  return filter != 1; /* H5Z_FILTER_DEFLATE */
}
