/* A tool for NVTX (NVTX_INJECTION64_PATH): writes a line "PID DOMAIN NAME" for each range that begins, and
   "PID DOMAIN end" for each that ends, to the file TRACE_RANGES. */
#include "shim.h"
#include <nvtx3/nvToolsExt.h>

static void note(nvtxDomainHandle_t domain, const char* what) {
  append_line("TRACE_RANGES", "%d %s %s\n", (int)getpid(), (const char*)domain, what);
}

static nvtxDomainHandle_t create(const char* name) { return (nvtxDomainHandle_t)strdup(name); }
static nvtxStringHandle_t know(nvtxDomainHandle_t domain, const char* name) {
  (void)domain;
  return (nvtxStringHandle_t)strdup(name);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  note(domain, (const char*)range->message.registered);
  return 0;
}

static int pop(nvtxDomainHandle_t domain) {
  note(domain, "end");
  return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks* callbacks = (const NvtxExportTableCallbacks*)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned int size;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)know;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
