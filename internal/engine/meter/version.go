package meter

// Version changes whenever Rewrite, with the zero Config, returns different bytes for a module or accepts different modules.
// Caches of rewritten modules must not use entries of another version.
const Version = 3
