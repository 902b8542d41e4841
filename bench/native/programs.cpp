// The algorithms of CUDA programs as plain C++: loops over what the threads of a launch do, in order.
//
//     programs NAME INPUT OUTPUT THREADS RUNS
//
// reads the arguments of a launch, runs the program so often after one run to warm up, writes what buffers hold after
// the last run, and prints the seconds of each.
#include "harness.hpp"

#include <algorithm>
#include <cmath>

static uint32_t rot(uint32_t x, int n) { return x >> n | x << (32 - n); }

// A number that is not made one operation with what comes next.
static double apart(double x) {
    asm("" : "+x"(x));
    return x;
}

static void saxpy(Args &g) {
    float *y = g.at<float>(0), a = g.scalar<float>(2);
    const float *x = g.at<float>(1);
    parallel(g.scalar<int>(3), [=](long i, long end) {
        for (; i < end; i++) y[i] = a * x[i] + y[i];
    });
}

static void sgemm(Args &g) {
    float *c = g.at<float>(0);
    const float *a = g.at<float>(1), *b = g.at<float>(2);
    int m = g.scalar<int>(3), n = g.scalar<int>(4), depth = g.scalar<int>(5);
    parallel(m, [=](long row, long end) {
        for (; row < end; row++) {
            float *out = c + row * n;
            std::fill(out, out + n, 0.0f);
            for (int l = 0; l < depth; l++) {
                float x = a[row * depth + l];
                for (int col = 0; col < n; col++) out[col] += x * b[l * n + col];
            }
        }
    });
}

static void mandelbrot(Args &g) {
    int *o = g.at<int>(0), w = g.scalar<int>(1), h = g.scalar<int>(2), limit = g.scalar<int>(3);
    parallel((long)w * h, [=](long i, long end) {
        for (; i < end; i++) {
            double cr = -2.0 + (i % w) * 0.125, ci = -1.0 + (i / w) * 0.125, zr = 0, zi = 0;
            int n = 0;
            while (n < limit && std::fma(zr, zr, apart(zi * zi)) <= 4.0) {
                double t = apart(apart(zr * zr) - apart(zi * zi)) + cr;
                zi = apart(2.0 * zr * zi) + ci;
                zr = t;
                n++;
            }
            o[i] = n;
        }
    });
}

static void transpose(Args &g) {
    float *o = g.at<float>(0);
    const float *x = g.at<float>(1);
    int rows = g.scalar<int>(2), columns = g.scalar<int>(3);
    parallel((rows + 15) / 16, [=](long tile, long end) {
        for (; tile < end; tile++)
            for (int first = 0; first < columns; first += 16)
                for (int c = first; c < std::min(first + 16, columns); c++)
                    for (int r = tile * 16; r < std::min((int)tile * 16 + 16, rows); r++) o[c * rows + r] = x[r * columns + c];
    });
}

static void convolution(Args &g) {
    float *o = g.at<float>(0);
    const uint8_t *x = g.at<uint8_t>(1);
    int w = g.scalar<int>(2), h = g.scalar<int>(3);
    const float *weights = g.at<float>(4);
    parallel(h, [=](long r, long end) {
        for (; r < end; r++)
            for (int c = 0; c < w; c++) {
                float sum = 0;
                for (int j = -2; j <= 2; j++)
                    for (int i = -2; i <= 2; i++)
                        sum += weights[(j + 2) * 5 + i + 2] *
                               x[std::min(std::max((int)r + j, 0), h - 1) * w + std::min(std::max(c + i, 0), w - 1)];
                o[r * w + c] = sum;
            }
    });
}

static void life(Args &g) {
    uint8_t *o = g.at<uint8_t>(0);
    const uint8_t *x = g.at<uint8_t>(1);
    int w = g.scalar<int>(2), h = g.scalar<int>(3);
    parallel(h, [=](long r, long end) {
        for (; r < end; r++)
            for (int c = 0; c < w; c++) {
                int n = 0;
                for (int dr = -1; dr <= 1; dr++)
                    for (int dc = -1; dc <= 1; dc++)
                        if (dr || dc) n += x[(r + dr + h) % h * w + (c + dc + w) % w];
                o[r * w + c] = n == 3 || (n == 2 && x[r * w + c]);
            }
    });
}

static void softmax(Args &g) {
    float *out = g.at<float>(0);
    const float *in = g.at<float>(1);
    int rows = g.scalar<int>(2), columns = g.scalar<int>(3);
    parallel(rows, [=](long row, long end) {
        for (; row < end; row++) {
            const float *x = in + row * columns;
            float *o = out + row * columns, top = -INFINITY, sum = 0;
            for (int c = 0; c < columns; c++) top = std::max(top, x[c]);
            for (int c = 0; c < columns; c++) sum += o[c] = std::exp(x[c] - top);
            for (int c = 0; c < columns; c++) o[c] /= sum;
        }
    });
}

static void crc(Args &g) {
    uint32_t *o = g.at<uint32_t>(0);
    const uint8_t *text = g.at<uint8_t>(1);
    const int *starts = g.at<int>(2);
    int n = g.scalar<int>(3);
    // Each block does the same.
    parallel(g.grid[0], [=](long block, long end) {
        for (; block < end; block++) {
            uint32_t table[256];
            for (uint32_t t = 0; t < 256; t++) {
                uint32_t c = t;
                for (int b = 0; b < 8; b++) c = c & 1 ? c >> 1 ^ 0xEDB88320 : c >> 1;
                table[t] = c;
            }
            for (int i = 0; i < n; i++) {
                uint32_t c = ~0u, d = ~0u;
                for (int at = starts[i]; at < starts[i + 1]; at++) {
                    c = c >> 8 ^ table[(c ^ text[at]) & 255];
                    d ^= text[at];
                    for (int b = 0; b < 8; b++) d = d >> 1 ^ (0xEDB88320 & -(d & 1));
                }
                o[2 * i] = ~c;
                o[2 * i + 1] = ~d;
            }
        }
    });
}

static void sha256(Args &g) {
    uint32_t *o = g.at<uint32_t>(0);
    const uint8_t *text = g.at<uint8_t>(1);
    int length = g.scalar<int>(2);
    const uint32_t *k = g.at<uint32_t>(3);
    parallel(g.threads(), [=](long i, long end) {
        for (; i < end; i++) {
            uint32_t w[64], h[8];
            const uint32_t s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
            for (int t = 0; t < 16; t++) {
                w[t] = 0;
                for (int b = 0; b < 4; b++) {
                    int at = 4 * t + b;
                    uint32_t c = at < length ? text[i * length + at] : at == length ? 0x80 : 0;
                    w[t] = w[t] << 8 | c;
                }
            }
            w[15] = length * 8;
            for (int t = 16; t < 64; t++)
                w[t] = (rot(w[t - 2], 17) ^ rot(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] + (rot(w[t - 15], 7) ^ rot(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
            for (int j = 0; j < 8; j++) h[j] = s[j];
            for (int t = 0; t < 64; t++) {
                uint32_t a = h[7] + (rot(h[4], 6) ^ rot(h[4], 11) ^ rot(h[4], 25)) + ((h[4] & h[5]) ^ (~h[4] & h[6])) + k[t] + w[t];
                uint32_t b = (rot(h[0], 2) ^ rot(h[0], 13) ^ rot(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
                h[7] = h[6]; h[6] = h[5]; h[5] = h[4]; h[4] = h[3] + a;
                h[3] = h[2]; h[2] = h[1]; h[1] = h[0]; h[0] = a + b;
            }
            for (int j = 0; j < 8; j++) o[8 * i + j] = s[j] + h[j];
        }
    });
}

static void collatz(Args &g) {
    int *steps = g.at<int>(0);
    uint64_t *top = g.at<uint64_t>(1);
    parallel(g.scalar<int>(2), [=](long i, long end) {
        for (; i < end; i++) {
            uint64_t v = i + 1, high = v;
            int count = 0;
            while (v != 1) {
                v = v & 1 ? 3 * v + 1 : v / 2;
                if (v > high) high = v;
                count++;
            }
            steps[i] = count;
            top[i] = high;
        }
    });
}

static void search(Args &g) {
    int *o = g.at<int>(0);
    const int *sorted = g.at<int>(1), *keys = g.at<int>(3);
    int n = g.scalar<int>(2);
    parallel(g.scalar<int>(4), [=](long i, long end) {
        for (; i < end; i++) {
            int low = 0, high = n;
            while (low < high) {
                int mid = (low + high) / 2;
                if (sorted[mid] < keys[i]) low = mid + 1;
                else high = mid;
            }
            o[i] = low;
        }
    });
}

static void fourier(Args &g) {
    struct Point { double x, y; };
    Point *all = g.at<Point>(0);
    const Point *roots = g.at<Point>(1);
    parallel(g.grid[0], [=](long block, long end) {
        for (; block < end; block++) {
            Point s[64], *x = all + block * 64;
            for (int i = 0; i < 64; i++) {
                int at = 0;
                for (int b = 0; b < 6; b++) at |= (i >> b & 1) << (5 - b);
                s[at] = x[i];
            }
            for (int half = 1; half < 64; half *= 2)
                for (int first = 0; first < 64; first += 2 * half)
                    for (int i = 0; i < half; i++) {
                        int a = first + i, b = a + half;
                        Point w = roots[i * (32 / half)], u = s[a], v = s[b];
                        double re = v.x * w.x - v.y * w.y, im = v.x * w.y + v.y * w.x;
                        s[a] = {u.x + re, u.y + im};
                        s[b] = {u.x - re, u.y - im};
                    }
            for (int i = 0; i < 64; i++) x[i] = s[i];
        }
    });
}

static void scan(Args &g) {
    int *o = g.at<int>(0);
    const int *x = g.at<int>(1);
    int n = g.scalar<int>(2), width = g.block[0];
    parallel(g.grid[0], [=](long block, long end) {
        for (; block < end; block++) {
            int sum = 0;
            for (long i = block * width; i < std::min((block + 1) * width, (long)n); i++) o[i] = sum += x[i];
        }
    });
}

static void knapsack(Args &g) {
    int *best = g.at<int>(0);
    const int *weight = g.at<int>(1), *value = g.at<int>(2);
    int items = g.scalar<int>(3), room = g.scalar<int>(4);
    // Each block does the same.
    parallel(g.grid[0], [=](long block, long end) {
        for (; block < end; block++) {
            std::vector<int> a(room + 1, 0), b(room + 1);
            for (int i = 0; i < items; i++) {
                for (int w = 0; w <= room; w++) b[w] = w >= weight[i] ? std::max(a[w], a[w - weight[i]] + value[i]) : a[w];
                std::swap(a, b);
            }
            std::copy(a.begin(), a.end(), best);
        }
    });
}

static void edit_distance(Args &g) {
    int *o = g.at<int>(0), n = g.scalar<int>(3);
    const char *a = g.at<char>(1), *b = g.at<char>(2);
    parallel(g.grid[0], [=](long block, long end) {
        for (; block < end; block++) {
            const char *x = a + block * n, *y = b + block * n;
            int above[65], row[65];
            for (int j = 0; j <= n; j++) above[j] = j;
            for (int i = 1; i <= n; i++) {
                row[0] = i;
                for (int j = 1; j <= n; j++)
                    row[j] = std::min(std::min(above[j], row[j - 1]) + 1, above[j - 1] + (x[i - 1] != y[j - 1]));
                std::copy(row, row + n + 1, above);
            }
            o[block] = above[n];
        }
    });
}

static void quantised(Args &g) {
    float *o = g.at<float>(0);
    const int8_t *w = g.at<int8_t>(1), *x = g.at<int8_t>(2);
    const float *scale = g.at<float>(3);
    int words = g.scalar<int>(4), rows = g.scalar<int>(5);
    parallel(rows, [=](long row, long end) {
        for (; row < end; row++) {
            const int8_t *own = w + row * words * 4L;
            int sum = 0, low = 0;
            for (int i = 0; i < 4 * words; i++) {
                sum += own[i] * x[i];
                low += own[i] & 15;
            }
            o[2 * row] = sum * scale[row];
            o[2 * row + 1] = (float)(low & 0xFFFF);
        }
    });
}

static uint32_t gcd(uint32_t a, uint32_t b) {
    while (b) {
        uint32_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static uint32_t power(uint32_t base, uint32_t e, uint32_t m) {
    uint64_t r = 1, b = base % m;
    for (; e; e >>= 1) {
        if (e & 1) r = r * b % m;
        b = b * b % m;
    }
    return (uint32_t)r;
}

static void number_theory(Args &g) {
    uint32_t *o = g.at<uint32_t>(0);
    const uint32_t *x = g.at<uint32_t>(1);
    int n = g.scalar<int>(2);
    parallel(n, [=](long i, long end) {
        for (; i < end; i++) {
            uint32_t a = x[i], b = x[(i + 1) % n];
            o[3 * i] = gcd(a, b);
            o[3 * i + 1] = power(a, b, 1000003);
            uint32_t c = a % 5000 + 2, prime = 1;
            for (uint32_t d = 2; d * d <= c; d++)
                if (c % d == 0) {
                    prime = 0;
                    break;
                }
            o[3 * i + 2] = prime;
        }
    });
}

static void random_numbers(Args &g) {
    uint32_t *o = g.at<uint32_t>(0);
    uint64_t seed = g.scalar<uint64_t>(1);
    parallel(g.threads(), [=](long at, long end) {
        for (; at < end; at++) {
            uint32_t i = at, x = i + 1, y = 362436069, z = 521288629, w = 88675123;
            for (int j = 0; j < 20; j++) {
                uint32_t t = x ^ x << 11;
                x = y; y = z; z = w;
                w ^= w >> 19 ^ t ^ t >> 8;
            }
            uint64_t s = seed + i;
            for (int j = 0; j < 20; j++) s = s * 6364136223846793005ull + 1442695040888963407ull;
            uint32_t c[4] = {i, 0, 7, 9}, key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
            for (int j = 0; j < 10; j++) {
                uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
                uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ key[0], (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ key[1], (uint32_t)p};
                std::copy(next, next + 4, c);
                key[0] += 0x9E3779B9u;
                key[1] += 0xBB67AE85u;
            }
            o[6 * at] = w;
            o[6 * at + 1] = (uint32_t)(s >> 33);
            for (int j = 0; j < 4; j++) o[6 * at + 2 + j] = c[j];
        }
    });
}

static void sort(int *a, int low, int high) {
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) std::swap(a[i++], a[j--]);
    }
    sort(a, low, j);
    sort(a, i, high);
}

static void quicksort(Args &g) {
    int *x = g.at<int>(0);
    parallel(g.scalar<int>(1), [=](long i, long end) {
        for (; i < end; i++) sort(x + i * 24, 0, 23);
    });
}

static void matrices_small(Args &g) {
    double *det = g.at<double>(0), *x = g.at<double>(1);
    const double *m = g.at<double>(2), *b = g.at<double>(3);
    parallel(g.scalar<int>(4), [=](long i, long end) {
        for (; i < end; i++) {
            double a[4][5], d = 1;
            for (int r = 0; r < 4; r++) {
                for (int c = 0; c < 4; c++) a[r][c] = m[16 * i + 4 * r + c];
                a[r][4] = b[4 * i + r];
            }
            for (int c = 0; c < 4; c++) {
                int best = c;
                for (int r = c + 1; r < 4; r++)
                    if (std::fabs(a[r][c]) > std::fabs(a[best][c])) best = r;
                if (best != c) {
                    for (int j = 0; j < 5; j++) std::swap(a[c][j], a[best][j]);
                    d = -d;
                }
                d *= a[c][c];
                for (int r = c + 1; r < 4; r++) {
                    double f = a[r][c] / a[c][c];
                    for (int j = c; j < 5; j++) a[r][j] -= f * a[c][j];
                }
            }
            det[i] = d;
            for (int r = 3; r >= 0; r--) {
                double s = a[r][4];
                for (int c = r + 1; c < 4; c++) s -= a[r][c] * x[4 * i + c];
                x[4 * i + r] = s / a[r][r];
            }
        }
    });
}

static void lambda_sums(Args &g) {
    float *f = g.at<float>(0);
    int *o = g.at<int>(1);
    const float *all = g.at<float>(2);
    parallel(g.grid[0], [=](long block, long end) {
        for (; block < end; block++) {
            const float *x = all + block * 128;
            float s[128], top = x[0];
            int count = 0, least = 0;
            for (int i = 0; i < 128; i++) {
                s[i] = x[i];
                top = std::max(top, x[i]);
                count += x[i] > 0;
                if (x[i] < x[least]) least = i;
            }
            for (int d = 64; d > 0; d /= 2)
                for (int i = 0; i < d; i++) s[i] += s[i + d];
            f[2 * block] = s[0];
            f[2 * block + 1] = top;
            o[2 * block] = count;
            o[2 * block + 1] = least;
        }
    });
}

static void math_single(Args &g) {
    float *o = g.at<float>(0);
    const float *x = g.at<float>(1);
    parallel(g.scalar<int>(2), [=](long i, long end) {
        for (; i < end; i++) {
            float a = x[i], p = std::fabs(a) + 0.125f, *r = o + 18 * i;
            r[0] = sinf(a); r[1] = cosf(a); r[2] = tanf(a * 0.25f); r[3] = expf(a); r[4] = logf(p); r[5] = powf(p, a);
            r[6] = tanhf(a); r[7] = atanf(a); r[8] = asinf(a * 0.1f); r[9] = erff(a); r[10] = cbrtf(a);
            r[11] = hypotf(a, 2.0f); r[12] = expm1f(a); r[13] = log1pf(p); r[14] = sinhf(a); r[15] = atan2f(a, 0.5f);
            r[16] = lgammaf(p); r[17] = 0.5f * erfcf(-a * 0.70710678f);
        }
    });
}

static void math_double(Args &g) {
    double *o = g.at<double>(0);
    const double *x = g.at<double>(1);
    parallel(g.scalar<int>(2), [=](long i, long end) {
        for (; i < end; i++) {
            double a = x[i], p = std::fabs(a) + 0.125, *r = o + 15 * i;
            r[0] = sin(a); r[1] = cos(a); r[2] = tan(a * 0.25); r[3] = exp(a); r[4] = log(p); r[5] = pow(p, a);
            r[6] = tanh(a); r[7] = atan(a); r[8] = erf(a); r[9] = cbrt(a); r[10] = hypot(a, 2.0); r[11] = 1 / sqrt(p);
            r[12] = asin(a * 0.1); r[13] = log10(p); r[14] = tgamma(p);
        }
    });
}

static const Program PROGRAMS[] = {
    {"saxpy", saxpy}, {"sgemm", sgemm}, {"mandelbrot", mandelbrot}, {"transpose", transpose}, {"convolution", convolution},
    {"life", life}, {"softmax", softmax}, {"crc", crc}, {"sha256", sha256}, {"collatz", collatz}, {"search", search},
    {"fourier", fourier}, {"scan", scan}, {"knapsack", knapsack}, {"edit_distance", edit_distance},
    {"quantised", quantised}, {"number_theory", number_theory}, {"random_numbers", random_numbers},
    {"quicksort", quicksort}, {"matrices_small", matrices_small}, {"lambda_sums", lambda_sums},
    {"math_single", math_single}, {"math_double", math_double},
};

static void read(FILE *file, void *to, size_t bytes) {
    if (fread(to, 1, bytes, file) != bytes) {
        fprintf(stderr, "the input ends too early\n");
        exit(1);
    }
}

static Args arguments(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    Args args;
    uint64_t count;
    int32_t shape[6];
    read(file, shape, sizeof shape);
    std::copy(shape, shape + 3, args.grid);
    std::copy(shape + 3, shape + 6, args.block);
    read(file, &count, sizeof count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t kind, value;
        read(file, &kind, sizeof kind);
        read(file, &value, sizeof value);
        args.is_buffer.push_back(kind == 1);
        args.scalars.push_back(value);
        args.buffers.emplace_back(kind == 1 ? value : 0);
        if (kind == 1) read(file, args.buffers.back().data(), value);
    }
    fclose(file);
    return args;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: programs NAME INPUT OUTPUT THREADS RUNS\n");
        return 1;
    }
    const Program *program = nullptr;
    for (const Program &own : PROGRAMS)
        if (!strcmp(own.name, argv[1])) program = &own;
    if (!program) {
        fprintf(stderr, "no program `%s`\n", argv[1]);
        return 1;
    }
    const Args fresh = arguments(argv[2]);
    workers = std::max(1, atoi(argv[4]));
    int runs = atoi(argv[5]);
    Args args = fresh;
    for (int run = 0; run <= runs; run++) {
        args = fresh;
        auto start = std::chrono::steady_clock::now();
        program->run(args);
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (run > 0) printf("%.9f\n", took.count());
    }
    FILE *file = fopen(argv[3], "wb");
    if (!file) {
        perror(argv[3]);
        return 1;
    }
    for (const auto &buffer : args.buffers) fwrite(buffer.data(), 1, buffer.size(), file);
    return fclose(file) == 0 ? 0 : 1;
}
