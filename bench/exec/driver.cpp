// What calls of the driver cost: launches of a small kernel, and copies beside the C library's. Prints one line of JSON.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

const char *const kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry one(.param .u64 p) {\n"
    ".reg .b32 %r<2>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d0, [p]; cvta.to.global.u64 %d0, %d0;\n"
    "mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;\n"
    "st.global.u32 [%d2], %r0; ret; }\n";

void *library;

template <typename... Args> void call(const char *name, Args... args) {
    auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    int code = function ? function(args...) : -1;
    if (code != 0) {
        std::fprintf(stderr, "%s: %d\n", name, code);
        std::exit(1);
    }
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The shortest of some runs, in seconds.
template <typename Run> double best(int runs, Run run) {
    double least = 1e30;
    for (int i = 0; i < runs; i++) {
        double start = now();
        run();
        double took = now() - start;
        least = took < least ? took : least;
    }
    return least;
}

} // namespace

int main() {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *context, *module, *function, *stream;
    call("cuInit", 0u);
    call("cuCtxCreate_v2", &context, 0u, 0);
    call("cuModuleLoadData", &module, kPtx);
    call("cuModuleGetFunction", &function, module, "one");
    call("cuStreamCreate", &stream, 1u);
    const size_t kBytes = size_t(64) << 20;
    unsigned long long memory, other;
    call("cuMemAlloc_v2", &memory, kBytes);
    call("cuMemAlloc_v2", &other, kBytes);
    void *arguments[] = {&memory};
    auto launch = reinterpret_cast<int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                           void *, void **, void **)>(dlsym(library, "cuLaunchKernel"));
    const int kLaunches = 20000;
    double launches = best(5, [&] {
        for (int i = 0; i < kLaunches; i++) {
            if (launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr) != 0) std::exit(1);
        }
        call("cuStreamSynchronize", stream);
    });
    double waited = best(5, [&] {
        for (int i = 0; i < kLaunches / 10; i++) {
            if (launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr) != 0) std::exit(1);
            call("cuStreamSynchronize", stream);
        }
    });
    std::vector<char> host(kBytes, 1), copy(kBytes, 2);
    double memcpied = best(5, [&] { std::memcpy(copy.data(), host.data(), kBytes); });
    double up = best(5, [&] { call("cuMemcpyHtoD_v2", memory, static_cast<const void *>(host.data()), kBytes); });
    double down = best(5, [&] { call("cuMemcpyDtoH_v2", static_cast<void *>(copy.data()), memory, kBytes); });
    double across = best(5, [&] {
        call("cuMemcpyDtoD_v2", other, memory, kBytes);
        call("cuCtxSynchronize");
    });
    if (std::memcmp(copy.data(), host.data(), kBytes) != 0) {
        std::fprintf(stderr, "the copy back is another\n");
        return 1;
    }
    const double gb = 1e-9 * double(kBytes);
    std::printf("{\"launch_us\":%.3f,\"launch_and_wait_us\":%.3f,\"memcpy_gb_s\":%.2f,\"up_gb_s\":%.2f,"
                "\"down_gb_s\":%.2f,\"across_gb_s\":%.2f}\n",
                1e6 * launches / kLaunches, 1e6 * waited / (kLaunches / 10), gb / memcpied, gb / up, gb / down,
                gb / across);
}
