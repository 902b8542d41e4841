// How many blocks fit, by threads, shared memory and what is asked for; what a card says of itself agrees.
#include "driver.h"

static size_t shared_by_block(int block) { return 64 * (size_t)block; }

int main(void) {
  begin();
  int processors, threads, blocks, shared, per_block, opt_in, reserved;
  OK(cuDeviceGetAttribute(&processors, 16, 0));
  OK(cuDeviceGetAttribute(&threads, 39, 0));
  OK(cuDeviceGetAttribute(&shared, 81, 0));
  OK(cuDeviceGetAttribute(&per_block, 8, 0));
  OK(cuDeviceGetAttribute(&opt_in, 97, 0));
  OK(cuDeviceGetAttribute(&reserved, 111, 0));
  EXPECT(processors > 0);
  WANT(per_block, 49152);
  EXPECT(opt_in > per_block && opt_in < shared && reserved == 1024);

  CUmodule module = load(HEAD("sm_70") INCREASE);
  CUfunction increase = function_of(module, "increase");
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increase, 1024, 0));
  WANT(blocks, threads / 1024);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increase, 256, 0));
  WANT(blocks, threads / 256);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increase, 32, 40 << 10));
  WANT(blocks, shared / ((40 << 10) + reserved));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increase, 32, 100 << 10));
  WANT(blocks, 0); // nobody has asked for that much
  OK(cuFuncSetAttribute(increase, 8, 100 << 10));
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increase, 32, 100 << 10));
  WANT(blocks, shared / ((100 << 10) + reserved));

  int grid, block;
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, increase, NULL, 0, 0));
  EXPECT(block % 32 == 0 && block >= 128);
  WANT(grid, processors * (threads / block));
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, increase, NULL, 0, 100));
  EXPECT(block <= 100);
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, increase, shared_by_block, 0, 0));
  EXPECT(block > 0 && grid % processors == 0);
  size_t room;
  OK(cuOccupancyAvailableDynamicSMemPerBlock(&room, increase, 2, 128));
  EXPECT(room > 48 << 10 && room <= (size_t)shared / 2);
  OK(cuModuleUnload(module));
  puts("right");
}
