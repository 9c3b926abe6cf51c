// Package db is the store.
package db
