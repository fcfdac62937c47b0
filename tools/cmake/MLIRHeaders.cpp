// Owns the precompiled header of the compiler half (see FusecMLIR.cmake).
