/* A tool for NVTX (NVTX_INJECTION64_PATH): writes a line "DOMAIN NAME" for each range that begins, and "end" for each
   that ends, to the file TRACE_RANGES.PID. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *ranges;

static nvtxDomainHandle_t create(const char *name) { return (nvtxDomainHandle_t)strdup(name); }
static nvtxStringHandle_t know(nvtxDomainHandle_t domain, const char *name) {
  (void)domain;
  return (nvtxStringHandle_t)strdup(name);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range) {
  return fprintf(ranges, "%s %s\n", (const char *)domain, (const char *)range->message.registered);
}

static int pop(nvtxDomainHandle_t domain) {
  (void)domain;
  return fputs("end\n", ranges);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks *callbacks = (const NvtxExportTableCallbacks *)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned int size;
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", getenv("TRACE_RANGES"), (int)getpid());
  ranges = fopen(path, "w");
  if (!ranges || !callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)know;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
