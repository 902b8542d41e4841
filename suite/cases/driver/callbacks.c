// Functions of the host in a stream: after what came before them, before what comes after.
#include "driver.h"

typedef struct {
  unsigned *value; // that kernels write, too
  unsigned seen[2];
  CUstream stream;
  CUresult status;
} Note;

static void look(void *data) {
  Note *note = data;
  note->seen[0] = *note->value;
  *note->value += 100;
}

static void look_again(CUstream stream, CUresult status, void *data) {
  Note *note = data;
  note->seen[1] = *note->value;
  note->stream = stream;
  note->status = status;
}

int main(void) {
  begin();
  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  CUstream stream;
  OK(cuStreamCreate(&stream, 1));
  Note note = {.status = -1};
  OK(cuMemAllocHost_v2((void **)&note.value, 4));
  *note.value = 0;
  CUdeviceptr address = (uintptr_t)note.value;
  for (int i = 0; i < 5; i++) OK(launch(increase, 1, address, stream));
  OK(cuLaunchHostFunc(stream, look, &note));
  OK(launch(increase, 1, address, stream));
  OK(cuStreamAddCallback(stream, look_again, &note, 0));
  OK(launch(increase, 1, address, stream));
  OK(cuStreamSynchronize(stream));
  WANT(note.seen[0], 5);
  WANT(note.seen[1], 106);
  WANT(*note.value, 107);
  EXPECT(note.stream == stream);
  WANT(note.status, 0);
  IS(cuStreamAddCallback(stream, look_again, &note, 1), 1);
  OK(cuStreamDestroy_v2(stream));
  OK(cuMemFreeHost(note.value));
  OK(cuModuleUnload(module));
  puts("right");
}
