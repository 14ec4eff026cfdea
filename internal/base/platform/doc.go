// Package platform has small functions and flags that differ between systems: flags of os.OpenFile (NoFollow, NonBlock), whether the
// user may write (CheckWrite), the form of host paths in the file tree of modules (TreePath), whether a file system is local
// (FileSystem), and on Windows job objects (NewJob).
// Callers need no build constraints for these. Larger differences have packages of their own, such as ntfile, or files whose names end
// in the system's.
package platform
