// What the native programs share: arguments from a file, threads over ranges, times.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

// The arguments of a kernel: scalars as they are passed, buffers with what they hold.
struct Args {
    // Blocks and threads of the launch.
    int grid[3], block[3];
    std::vector<uint64_t> scalars;
    std::vector<std::vector<char>> buffers;
    std::vector<bool> is_buffer;

    template <class T> T *at(int i) { return reinterpret_cast<T *>(buffers[i].data()); }
    template <class T> T scalar(int i) const {
        T value;
        std::memcpy(&value, &scalars[i], sizeof value);
        return value;
    }
    int threads() const { return grid[0] * block[0]; }
};

// How many threads share the work.
inline int workers = 1;

// Calls f(first, last) for pieces of 0..count, each on one of the threads.
template <class F> void parallel(long count, F f) {
    long piece = count / (8L * workers) + 1;
    std::atomic<long> next{0};
    auto work = [&] {
        for (long first; (first = next.fetch_add(piece)) < count;) f(first, std::min(first + piece, count));
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < workers; i++) threads.emplace_back(work);
    work();
    for (auto &thread : threads) thread.join();
}

struct Program {
    const char *name;
    void (*run)(Args &);
};
