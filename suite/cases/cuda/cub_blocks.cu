// Sorting, scanning, summing and counting by the templates of CUB.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/block/block_histogram.cuh>
struct Less { __device__ bool operator()(int a, int b) const { return a < b; } };
extern "C" __global__ void k(int *keys, int *scan, int *sum, int *merged, unsigned *hist) {
  typedef cub::BlockRadixSort<int, 128, 4> Sort;
  typedef cub::BlockScan<int, 128> Scan;
  typedef cub::BlockReduce<int, 128> Reduce;
  typedef cub::WarpMergeSort<int, 4, 32> Merge;
  typedef cub::BlockHistogram<unsigned char, 128, 4, 64> Hist;
  __shared__ union { typename Sort::TempStorage s; typename Scan::TempStorage c; typename Reduce::TempStorage r; typename Merge::TempStorage m[4]; typename Hist::TempStorage h; } t;
  __shared__ unsigned bins[64];
  int i = threadIdx.x, v[4], w[4], u[4];
  unsigned char b[4];
  for (int j = 0; j < 4; j++) { v[j] = keys[i * 4 + j]; w[j] = v[j]; u[j] = v[j]; b[j] = v[j] & 63; }
  Sort(t.s).Sort(v); __syncthreads();
  Scan(t.c).ExclusiveSum(w, w); __syncthreads();
  int s = Reduce(t.r).Sum(u); __syncthreads();
  Merge(t.m[i / 32]).Sort(u, Less()); __syncthreads();
  Hist(t.h).Histogram(b, bins); __syncthreads();
  for (int j = 0; j < 4; j++) { keys[i * 4 + j] = v[j]; scan[i * 4 + j] = w[j]; merged[i * 4 + j] = u[j]; }
  if (i == 0) *sum = s;
  if (i < 64) hist[i] = bins[i];
}
