// Package namespace turns the names that agents use into places in storage.
package namespace
