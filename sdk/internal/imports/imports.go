// Package imports calls the functions that the host exports to the guest in ABI 1. It contains all unsafe code of the SDK. In a process that
// is not a module, such as a native test, the Host that was passed to SetHost answers instead.
package imports
