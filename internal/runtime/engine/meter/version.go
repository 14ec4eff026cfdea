package meter

// Version changes whenever Rewrite, with DefaultConfig, returns different bytes for a module, or accepts different modules. A cache of
// rewritten modules must not use entries that a different Version wrote.
const Version = 5
