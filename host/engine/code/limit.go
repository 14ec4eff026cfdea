package code

// compilerMemory bounds what a compiler's process can write to, in bytes. It does not bound the address space
// (RLIMIT_AS), of which Go reserves more than a gigabyte that it never uses, and each version of Go another amount.
const compilerMemory = 3 << 30
