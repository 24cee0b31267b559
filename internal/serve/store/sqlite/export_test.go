package sqlite

var OpenAt = openAt

// DSN is the name by which every connection of a store is opened.
var DSN = dsn
