// A queue in device memory through which blocks pass tickets, one after another.
__device__ unsigned turn;
extern "C" __global__ void k(unsigned *log, unsigned *sum) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) {
        while (((volatile unsigned *)&turn)[0] != blockIdx.x) __nanosleep(10);
        __threadfence();
        mine = *sum;
        *sum = mine * 3 + blockIdx.x;
        log[blockIdx.x] = mine;
        __threadfence();
        atomicAdd(&turn, 1u);
    }
    __syncthreads();
    atomicAdd(log + gridDim.x + threadIdx.x, mine & 1);
}
