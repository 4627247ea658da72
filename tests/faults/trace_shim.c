/* A tool for NVTX (NVTX_INJECTION64_PATH): counts ranges by domain and name, and open ranges. At the end it writes
   "DOMAIN NAME COUNT" lines, and "open COUNT", to the file TRACE_COUNTS.PID. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 64 };
static struct count {
  const char *domain, *name;
  long count;
} counts[most];
static long open_ranges;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static nvtxDomainHandle_t create(const char *name) { return (nvtxDomainHandle_t)strdup(name); }
static nvtxStringHandle_t know(nvtxDomainHandle_t domain, const char *name) {
  (void)domain;
  return (nvtxStringHandle_t)strdup(name);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *range) {
  const char *name = range->messageType == NVTX_MESSAGE_TYPE_REGISTERED ? (const char *)range->message.registered
                                                                        : range->message.ascii;
  int i;
  pthread_mutex_lock(&mutex);
  ++open_ranges;
  for (i = 0; i < most - 1 && counts[i].name; ++i)
    if (!strcmp(counts[i].name, name) && !strcmp(counts[i].domain, (const char *)domain)) break;
  counts[i].domain = (const char *)domain;
  counts[i].name = name;
  ++counts[i].count;
  pthread_mutex_unlock(&mutex);
  return 0;
}

static int pop(nvtxDomainHandle_t domain) {
  (void)domain;
  pthread_mutex_lock(&mutex);
  --open_ranges;
  pthread_mutex_unlock(&mutex);
  return 0;
}

static void tell(void) {
  char path[4096];
  FILE *file;
  int i;
  snprintf(path, sizeof path, "%s.%d", getenv("TRACE_COUNTS"), (int)getpid());
  if (!(file = fopen(path, "w"))) return;
  for (i = 0; i < most && counts[i].name; ++i)
    fprintf(file, "%s %s %ld\n", counts[i].domain, counts[i].name, counts[i].count);
  fprintf(file, "open %ld\n", open_ranges);
  fclose(file);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks *callbacks = (const NvtxExportTableCallbacks *)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned int size;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *table[NVTX_CBID_CORE2_DomainRegisterStringA] = (NvtxFunctionPointer)know;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  atexit(tell);
  return 1;
}
