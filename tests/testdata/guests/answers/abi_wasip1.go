package main

import "unsafe"

//go:wasmimport bulkhead input
func input(dst unsafe.Pointer, n uint32)

//go:wasmimport bulkhead output
func output(src unsafe.Pointer, n uint32)

//go:wasmexport bulkhead_abi_1
func abi1() {}

//go:wasmexport bulkhead_call
func call(n uint32) {
	request := make([]byte, n)
	input(unsafe.Pointer(unsafe.SliceData(request)), n)
	response := answer(request)
	output(unsafe.Pointer(unsafe.SliceData(response)), uint32(len(response)))
}

func main() {}
