package meter

// Version changes whenever Rewrite gives other bytes for a module, or accepts others, with the zero Config: whoever
// keeps rewritten modules must not use those of another version.
const Version = 2
