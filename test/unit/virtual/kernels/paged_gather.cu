// out[token][d] = pages[table[token / 16]][token % 16][d] for d < 64, by half2-sized words: tokens of a
// sequence whose rows lie in pages of 16. One warp per token, 4 per block.
extern "C" __global__ void __launch_bounds__(128) KERNEL(const unsigned *pages, const int *table, unsigned *out, const long long *sizes) {
  const int tokens = sizes[0], words = 32, pageRows = 16;
  const int token = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (token >= tokens)
    return;
  const int page = table[token / pageRows];
  const unsigned *row = pages + ((long long)page * pageRows + token % pageRows) * words;
  if (lane < 16) {
    const uint2 value = *(const uint2 *)(row + 2 * lane);
    *(uint2 *)(out + token * words + 2 * lane) = value;
  }
}
