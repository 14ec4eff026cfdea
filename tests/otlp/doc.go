// Package otlp tests what is sent to collectors of traces with the decoder of OpenTelemetry's own collector. It is a module of its own, so
// that the program does not depend on it.
package otlp
