package rawjson

// Prepare encodes each value and discards the result. encoding/json analyses a type when it first encodes or decodes a
// value of it, which in a module takes longer than most calls. If an init function calls Prepare for the types of
// results and files, the analysis is part of the snapshot that all calls start from. The values may be zero values.
func Prepare(values ...any) {
	for _, value := range values {
		_, _ = Marshal(value) // a value that cannot be encoded is reported when it is used
	}
}
