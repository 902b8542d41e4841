// An interpreter of bytecode: each thread runs its own program.
extern "C" __global__ void k(int *o, const unsigned char *code, int length, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int stack[8], top = 0, pc = 0, acc = i;
    const unsigned char *p = code + i * length;
    for (int steps = 0; steps < 200 && pc < length; steps++) {
        int op = p[pc++];
        switch (op & 15) {
            case 0: acc += op >> 4; break;
            case 1: acc -= op >> 4; break;
            case 2: acc *= 3; break;
            case 3: acc ^= 0x55; break;
            case 4: acc <<= 1; break;
            case 5: acc >>= 1; break;
            case 6: stack[top & 7] = acc; top++; break;
            case 7: if (top) { top--; acc += stack[top & 7]; } break;
            case 8: if (acc & 1) pc += op >> 6; break;
            case 9: acc = -acc; break;
            case 10: acc = acc % 1000; break;
            case 11: acc |= op >> 4; break;
            case 12: if (steps < 100) pc = (op >> 4) % length; break;
            case 13: acc = __popc(acc); break;
            case 14: acc = ~acc; break;
            default: pc = length;
        }
    }
    o[i] = acc;
}
