package meter

// Version changes whenever Rewrite, with the zero Config, returns different bytes for a module, or accepts different modules. A cache of
// rewritten modules must not use entries that a different Version wrote.
const Version = 4
