// Functions that are compiled twice, for what every processor of the kind has and for AVX2, and chosen when the program starts. Only for
// loops that work element by element, or that sum four side by side: there wider registers leave the bits as they are.
#pragma once

// The sanitizers do not follow such functions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BAM_HAS_WIDE
#define BAM_WIDE [[gnu::target_clones("avx2", "default")]]
#else
#define BAM_WIDE
#endif
#define BAM_INLINE [[gnu::always_inline]] inline  // into each of the two
