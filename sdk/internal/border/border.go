// Package border is the Go side of ABI 1's imports: bytes in, bytes out. All the unsafe code of the SDK
// is here. Outside of a module (in a native test) a Host given to SetHost answers instead.
package border
