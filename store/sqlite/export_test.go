package sqlite

var OpenAt = openAt
