package rawjson

// Prepare encodes each value and discards the result. encoding/json analyses a type when it first encodes or decodes a value of that type. In
// a module, the analysis takes longer than most calls. If an init function calls Prepare for the types of results and files, the analysis
// is part of the snapshot with which all calls start. The values may be zero values.
func Prepare(values ...any) {
	for _, value := range values {
		_, _ = Marshal(value) // if the value cannot be encoded, the caller gets the error when it encodes the value for use
	}
}
