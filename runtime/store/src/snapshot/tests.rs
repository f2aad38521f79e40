use expect_test::expect;

use super::*;
use crate::{Disk, SimDisk, disk::read_all, meta::TopicMeta};

fn write(disk: &SimDisk, rows: u32) {
    let dir = dir(Path::new("/data"));
    disk.create_dir(&dir).unwrap();
    let meta = Meta {
        epochs: [("p".parse().unwrap(), 300)].into(),
        topics: [("t".parse().unwrap(), TopicMeta { id: 2, closed: true, next: vec![5, 0] })]
            .into(),
        next_topic: 3,
    };
    let file = disk.append(&path(&dir, 0x1234)).unwrap();
    let mut writer = Writer::begin(&*file, 0x1234, &meta).unwrap();
    for i in 0..rows {
        writer.row(&"p".parse().unwrap(), &i.to_be_bytes(), b"value").unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn the_bytes_of_a_snapshot_are_fixed() {
    let disk = SimDisk::new(1);
    write(&disk, 1);
    let bytes = read_all(&disk, &path(&dir(Path::new("/data")), 0x1234)).unwrap();
    let lines = bytes
        .chunks(16)
        .map(|line| line.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "));
    expect![[r#"
        57 45 49 52 53 4e 41 50 01 00 00 00 a7 a3 1a 1b
        34 12 00 00 00 00 00 00 0e 00 00 00 1d 39 39 6f
        01 00 00 00 01 01 70 ac 02 01 01 74 02 01 02 05
        00 03 13 00 00 00 20 73 ab 2b 02 00 00 00 01 70
        04 00 00 00 00 00 00 00 05 00 00 00 76 61 6c 75
        65 08 00 00 00 2a b4 ce 31 03 00 00 00 01 00 00
        00 00 00 00 00"#]]
    .assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_row_is_read_back_and_every_turned_bit_is_found() {
    let disk = SimDisk::new(1);
    write(&disk, 50_000);
    let dir = dir(Path::new("/data"));
    let read = || -> Result<u32, StoreError> {
        let mut reader = Reader::open(&disk, &dir, 0x1234)?;
        assert_eq!(reader.meta.next_topic, 3);
        let mut count = 0u32;
        while let Some((domain, key, value)) = reader.row()? {
            assert_eq!(
                (domain.as_str(), key.as_slice(), value.as_ref()),
                ("p", count.to_be_bytes().as_slice(), b"value".as_slice())
            );
            count += 1;
        }
        Ok(count)
    };
    assert_eq!(read().unwrap(), 50_000);
    let file = path(&dir, 0x1234);
    let length = disk.files()[0].1;
    for at in (0..24).chain((24..length).step_by(4_999)).chain(length - 30..length) {
        disk.flip(&file, at, 3);
        assert!(matches!(read(), Err(StoreError::Damaged { .. })), "byte {at}");
        disk.flip(&file, at, 3);
    }
    disk.append(&file).unwrap().truncate(length / 2).unwrap();
    assert!(matches!(read(), Err(StoreError::Damaged { .. })));
}
