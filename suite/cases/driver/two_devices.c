// exec: --devices 2
// Two cards: memory of each, copies between them, who they are.
#include "driver.h"

int main(void) {
  int count;
  OK(cuInit(0));
  OK(cuDeviceGetCount(&count));
  WANT(count, 2);
  CUdevice device;
  IS(cuDeviceGet(&device, 2), 101);
  CUuuid ids[2];
  CUcontext contexts[2];
  CUmodule modules[2];
  CUdeviceptr x[2];
  for (int i = 0; i < 2; i++) {
    char bus[32], name[64];
    OK(cuDeviceGetUuid_v2(&ids[i], i));
    OK(cuDeviceGetName(name, sizeof name, i));
    EXPECT(strlen(name) > 0);
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, i));
    OK(cuDeviceGetByPCIBusId(&device, bus));
    WANT(device, i);
    OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    OK(cuCtxSetCurrent(contexts[i]));
    OK(cuCtxGetDevice(&device));
    WANT(device, i);
    modules[i] = load(HEAD("sm_70") INCREASE);
    x[i] = zeros(128);
    for (int j = 0; j <= 4 * i; j++) OK(launch(function_of(modules[i], "increase"), 32, x[i], NULL));
    OK(cuCtxSynchronize());
  }
  EXPECT(memcmp(&ids[0], &ids[1], sizeof ids[0]) != 0);
  WANT(word(x[0]), 1);
  WANT(word(x[1]), 5);
  for (int i = 0; i < 2; i++) {
    int ordinal = -1;
    OK(cuPointerGetAttribute(&ordinal, 9, x[i]));
    WANT(ordinal, i);
  }
  OK(cuMemcpyPeer(x[0], contexts[0], x[1], contexts[1], 64));
  OK(cuMemcpyPeerAsync(x[1] + 64, contexts[1], x[0] + 64, contexts[0], 64, NULL));
  OK(cuCtxSynchronize());
  for (int i = 0; i < 32; i++) {
    WANT(word(x[0] + 4 * i), i < 16 ? 5 : 1);
    WANT(word(x[1] + 4 * i), i < 16 ? 5 : 1);
  }
  int peers;
  OK(cuDeviceCanAccessPeer(&peers, 0, 1));
  EXPECT(peers == 0 || peers == 1);
  for (int i = 0; i < 2; i++) {
    OK(cuCtxSetCurrent(contexts[i]));
    OK(cuMemFree_v2(x[i]));
    OK(cuModuleUnload(modules[i]));
    OK(cuDevicePrimaryCtxRelease_v2(i));
  }
  puts("right");
}
