-- The tables and columns that the gsqlite3 backend of PowerDNS 4.7 asks for.
CREATE TABLE domains (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, master TEXT, last_check INTEGER, type TEXT NOT NULL, notified_serial INTEGER, account TEXT, options TEXT, catalog TEXT);
CREATE TABLE records (id INTEGER PRIMARY KEY, domain_id INTEGER NOT NULL, name TEXT, type TEXT, content TEXT, ttl INTEGER, prio INTEGER, disabled BOOLEAN DEFAULT 0, ordername TEXT, auth BOOLEAN DEFAULT 1);
CREATE TABLE supermasters (ip TEXT NOT NULL, nameserver TEXT NOT NULL COLLATE NOCASE, account TEXT NOT NULL);
CREATE TABLE comments (id INTEGER PRIMARY KEY, domain_id INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, modified_at INTEGER NOT NULL, account TEXT, comment TEXT NOT NULL);
CREATE TABLE domainmetadata (id INTEGER PRIMARY KEY, domain_id INTEGER NOT NULL, kind TEXT COLLATE NOCASE, content TEXT);
CREATE TABLE cryptokeys (id INTEGER PRIMARY KEY, domain_id INTEGER NOT NULL, flags INTEGER NOT NULL, active BOOLEAN, published BOOLEAN DEFAULT 1, content TEXT);
CREATE TABLE tsigkeys (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, algorithm TEXT COLLATE NOCASE, secret TEXT);
CREATE INDEX records_by_name ON records (name, type);
CREATE INDEX records_by_zone ON records (domain_id);
CREATE INDEX metadata_by_zone ON domainmetadata (domain_id);
CREATE UNIQUE INDEX tsigkeys_by_name ON tsigkeys (name, algorithm);
