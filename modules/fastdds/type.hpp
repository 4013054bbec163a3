// The type of the topics: plain bytes of any length up to the payload.
#pragma once

#include <fastdds/dds/topic/TopicDataType.hpp>

namespace fastdds_module {

// A message as it lies in memory behind the four bytes that the library puts in front: eight bytes
// in all before the bytes of ipcmark, which are aligned as those of a plain program would be.
struct Wire {
    uint32_t len;
    uint8_t bytes[1];
};

// A message to be copied in or out.
struct Sample {
    void *bytes;
    uint32_t len;
};

class Bytes : public eprosima::fastdds::dds::TopicDataType {
  public:
    explicit Bytes(uint64_t payload);
    bool serialize(void *data, eprosima::fastrtps::rtps::SerializedPayload_t *payload) override;
    bool deserialize(eprosima::fastrtps::rtps::SerializedPayload_t *payload, void *data) override;
    std::function<uint32_t()> getSerializedSizeProvider(void *data) override;
    void *createData() override;
    void deleteData(void *data) override;
    bool getKey(void *, eprosima::fastrtps::rtps::InstanceHandle_t *, bool) override { return false; }
    bool is_bounded() const override { return true; }
    bool is_plain() const override { return true; }
};

} // namespace fastdds_module
