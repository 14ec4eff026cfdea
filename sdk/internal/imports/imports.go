// Package imports calls the functions that the host exports to the guest in ABI 1. It contains all unsafe code of the
// SDK. Outside of a module (in a native test) the Host given to SetHost answers instead.
package imports
